# The clientmcp program in a small image that runs as nobody in particular.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked -p clientmcp-cli \
    && cp target/release/clientmcp /clientmcp

FROM debian:bookworm-slim
COPY --from=build /clientmcp /usr/local/bin/clientmcp
USER 65532:65532
# Public port of a router, internal port of a node, admin port of both.
EXPOSE 8080 9000 9090
ENTRYPOINT ["/usr/local/bin/clientmcp"]
CMD ["--help"]
