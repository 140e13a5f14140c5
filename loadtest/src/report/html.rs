//! One page with the runs: numbers, and what happened over time as inline SVG. It loads nothing.

use std::fmt::Write as _;

use super::{Report, last_line};

/// The drawing area of a chart, in pixels.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 180.0;

const STYLE: &str = "\
body{font:14px system-ui,sans-serif;max-width:1060px;margin:2em auto;padding:0 1em;color:#222}\
pre{background:#f4f4f4;padding:1em;overflow:auto;font-size:12px}\
h1{font-size:20px}h2{font-size:17px;margin-top:2em}h3{font-size:14px;margin-bottom:.2em}\
.good{color:#1a7f37}.bad{color:#c0232c}svg{background:#fafafa;border:1px solid #ddd}\
svg text{font:10px system-ui,sans-serif;fill:#555}";

pub(super) fn page(reports: &[Report]) -> String {
    let mut body = String::new();
    for report in reports {
        body.push_str(&section(report));
    }
    let good = reports.iter().all(Report::is_good);
    let class = if good { "good" } else { "bad" };
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>clientmcp loadtest</title>\
         <style>{STYLE}</style><h1>clientmcp loadtest</h1><p class=\"{class}\">{}</p>{body}</html>\n",
        escape(&last_line(reports))
    )
}

fn section(report: &Report) -> String {
    let class = if report.is_good() { "good" } else { "bad" };
    let seconds = &report.load.seconds;
    let series = |number: fn(&super::series::Second) -> f64| -> Vec<f64> {
        seconds.iter().map(number).collect()
    };
    let answers = chart(
        report,
        &[
            ("#1a7f37", "ok", series(|it| f64::from(it.ok))),
            ("#c77700", "unknown", series(|it| f64::from(it.unknown))),
            ("#c0232c", "other", series(|it| f64::from(it.other))),
        ],
    );
    let latency = chart(
        report,
        &[
            ("#9db8d9", "max", series(|it| it.max_ms)),
            ("#2f6fb3", "p99", series(|it| it.p99_ms)),
            ("#123", "p50", series(|it| it.p50_ms)),
        ],
    );
    format!(
        "<h2>{}</h2><p class=\"{class}\">{}</p>\
         <h3>Answers per second</h3>{answers}\
         <h3>Latency beyond the tools' own time, by the second in which calls were due (ms)</h3>{latency}\
         <h3>Gap of each fault: median to longest, p99 marked (ms)</h3>{}\
         <pre>{}</pre>",
        escape(&report.scenario),
        escape(&report.last_line()),
        gaps(report),
        escape(&report.text()),
    )
}

/// Lines over the seconds of a run, with its faults marked.
fn chart(report: &Report, lines: &[(&str, &str, Vec<f64>)]) -> String {
    let values = lines.iter().flat_map(|(_, _, values)| values);
    let top = values.fold(1.0_f64, |top, value| top.max(*value));
    let mut drawing = String::new();
    let scale = Scale::of(report, top);
    marks(report, &scale, &mut drawing);
    for (index, (color, name, values)) in lines.iter().enumerate() {
        let mut points = String::new();
        for (second, value) in values.iter().enumerate() {
            // A string takes all that is written to it.
            let _ = write!(
                points,
                "{:.1},{:.1} ",
                scale.x(second as f64 + 0.5),
                scale.y(*value)
            );
        }
        let x = 60.0 * index as f64 + 60.0;
        let _ = write!(
            drawing,
            "<polyline fill=\"none\" stroke=\"{color}\" points=\"{points}\"/>\
             <text x=\"{x}\" y=\"12\" style=\"fill:{color}\">{name}</text>"
        );
    }
    svg(&drawing, top)
}

/// For each fault a bar from its median gap to its longest.
fn gaps(report: &Report) -> String {
    let faults = report.faults.iter().map(|it| (it, it.gaps.summary()));
    let top = faults
        .clone()
        .fold(1.0_f64, |top, (_, gap)| top.max(gap.max_ms));
    let scale = Scale::of(report, top);
    let mut drawing = String::new();
    marks(report, &scale, &mut drawing);
    for (it, gap) in faults {
        let x = scale.x(it.fault.at.as_secs_f64());
        let [median, p99, max] = [gap.p50_ms, gap.p99_ms, gap.max_ms].map(|ms| scale.y(ms));
        let _ = write!(
            drawing,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{median:.1}\" y2=\"{max:.1}\" stroke=\"#2f6fb3\" stroke-width=\"4\"/>\
             <circle cx=\"{x:.1}\" cy=\"{p99:.1}\" r=\"3\" fill=\"#c0232c\"/>"
        );
    }
    svg(&drawing, top)
}

/// A line for each fault, with its name as a tooltip.
fn marks(report: &Report, scale: &Scale, drawing: &mut String) {
    for it in &report.faults {
        let x = scale.x(it.fault.at.as_secs_f64());
        let _ = write!(
            drawing,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{HEIGHT}\" stroke=\"#e0a0a4\" stroke-dasharray=\"3 3\"><title>{}</title></line>",
            escape(&it.fault.what)
        );
    }
}

fn svg(drawing: &str, top: f64) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" width=\"100%\">{drawing}<text x=\"2\" y=\"12\">{top:.0}</text></svg>",
        HEIGHT + 4.0
    )
}

struct Scale {
    seconds: f64,
    top: f64,
}

impl Scale {
    fn of(report: &Report, top: f64) -> Self {
        Self {
            seconds: report.load.seconds.len().max(1) as f64,
            top,
        }
    }

    fn x(&self, second: f64) -> f64 {
        WIDTH * second / self.seconds
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT * (1.0 - value / self.top)
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
