//! The folder of a run: logs of its processes, its secret.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use anyhow::Context;

/// A folder that goes with this value, unless it is to be kept.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    kept: AtomicBool,
}

impl Folder {
    /// A new one below the system's folder for temporary files.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new() -> anyhow::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("clientmcp-loadtest-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(Self {
            path,
            kept: AtomicBool::new(false),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file into it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, content: &str) -> anyhow::Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::write(&path, content).with_context(|| path.display().to_string())?;
        Ok(path)
    }

    /// It stays when this value goes.
    pub fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.kept.load(Ordering::Relaxed) && !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
