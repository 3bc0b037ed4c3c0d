//! Gives the library its soname.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The number is that of the interface: it changes when a program would have to be compiled again.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhaul.so.0");
}
