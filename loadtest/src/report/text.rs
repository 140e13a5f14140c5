//! The tables at the end of a run.

use std::fmt::Write as _;

use comfy_table::{Table, presets};

use super::Report;
use crate::audit::{Gaps, Summary};

pub(super) fn text(report: &Report) -> String {
    let mut text = format!("{}, --seed {}\n", report.scenario, report.seed);
    for table in [
        calls(report),
        latencies(report),
        faults(report),
        processes(report),
    ] {
        // A string takes all that is written to it.
        let _ = writeln!(text, "\n{table}");
    }
    let mut list = |title: &str, lines: &[String]| {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{title}");
        }
        for line in lines {
            let _ = writeln!(text, "  {line}");
        }
    };
    list("Measured beside:", &report.notes);
    let examples: Vec<String> = report
        .verdict
        .examples
        .values()
        .flatten()
        .cloned()
        .collect();
    list("Calls that went wrong, by example:", &examples);
    list("What must not be:", &report.complaints);
    if let Some(logs) = &report.logs {
        let _ = writeln!(text, "\nThe logs of the processes: {}", logs.display());
    }
    text
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.to_vec());
    table
}

fn calls(report: &Report) -> Table {
    let verdict = &report.verdict;
    let mut table = table(&["CALLS", ""]);
    let mut row = |name: &str, count: usize| {
        table.add_row([name.to_owned(), count.to_string()]);
    };
    row("issued", verdict.issued);
    for (kind, count) in &verdict.outcomes {
        row(kind, *count);
    }
    row("→ failed", verdict.failed);
    row("→ run more than once", verdict.double);
    row("→ answered, not run", verdict.lost);
    row("→ delivered to another", verdict.crossed);
    row("→ unknown that ran", verdict.unknown_ran);
    table
}

fn latencies(report: &Report) -> Table {
    let mut table = table(&[
        "BEYOND THE TOOL'S TIME",
        "CALLS",
        "P50 ms",
        "P99 ms",
        "MAX ms",
    ]);
    let late = numbers(&report.load.late);
    table.add_row([vec!["made later than planned".to_owned()], late].concat());
    for (tool, summary) in &report.load.latency {
        table.add_row([vec![(*tool).to_owned()], numbers(summary)].concat());
    }
    table
}

fn faults(report: &Report) -> Table {
    let header = [
        "AT s",
        "FAULT",
        "IN FLIGHT",
        "TO HIT APPS",
        "APPS HIT",
        "GAP P50 ms",
        "P99 ms",
        "MAX ms",
        "NOT BACK",
    ];
    let mut table = table(&header);
    let lost = |gaps: &Gaps| vec![gaps.never_back().len().to_string()];
    for it in &report.faults {
        let fault = &it.fault;
        let summary = it.gaps.summary();
        let head = vec![
            format!("{:.1}", fault.at.as_secs_f64()),
            fault.what.clone(),
            fault.in_flight.to_string(),
            fault.in_flight_affected.to_string(),
        ];
        table.add_row([head, numbers(&summary), lost(&it.gaps)].concat());
    }
    if report.faults.len() > 1 {
        let summary = report.gaps.summary();
        let sum = |number: fn(&super::FaultReport) -> usize| {
            report.faults.iter().map(number).sum::<usize>().to_string()
        };
        let head = vec![
            String::new(),
            format!("all {}", report.faults.len()),
            sum(|it| it.fault.in_flight),
            sum(|it| it.fault.in_flight_affected),
        ];
        table.add_row([head, numbers(&summary), lost(&report.gaps)].concat());
    }
    table
}

fn processes(report: &Report) -> Table {
    let mut table = table(&["AT REST", "OPEN FILES", "GAUGES"]);
    for process in &report.leaks.processes {
        let short = |name: &str| name.trim_start_matches("clientmcp_").to_owned();
        let gauges = process.gauges.iter();
        let gauges: Vec<String> = gauges
            .map(|(name, value)| format!("{} {value}", short(name)))
            .collect();
        let files = process
            .open_files
            .map_or("-".to_owned(), |files| files.to_string());
        table.add_row([process.name.clone(), files, gauges.join(", ")]);
    }
    table
}

/// Count, median, p99 and maximum as cells.
fn numbers(summary: &Summary) -> Vec<String> {
    let ms = |ms: f64| format!("{ms:.1}");
    vec![
        summary.count.to_string(),
        ms(summary.p50_ms),
        ms(summary.p99_ms),
        ms(summary.max_ms),
    ]
}
