//! Tells the crate which Python it is built for: whether that has a GIL.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(Py_GIL_DISABLED)");
    #[cfg(feature = "python")]
    pyo3_build_config::use_pyo3_cfgs();
}
