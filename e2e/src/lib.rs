//! Whole-cluster tests and the fixture app that they drive.
