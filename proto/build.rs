//! Compiles the contract without a system `protoc`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let contract = "clientmcp/v1/bridge.proto";
    println!("cargo:rerun-if-changed={contract}");
    let descriptors = protox::compile([contract], ["."])?;
    tonic_prost_build::configure()
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}
