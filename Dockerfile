# The image contains the binary and CA certificates, no shell. It does not run as root.
# Build and run it:
#   docker build -t petstore --build-arg VERSION="$(git describe --tags --always)" --build-arg COMMIT="$(git rev-parse HEAD)" .
#   docker run -p 8080:8080 -v petstore:/data petstore serve --first-key

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The binary is linked statically, because SQLite is written in C and scratch has no C library.
# The build context has no git checkout, so these arguments set what petstore version prints.
ARG VERSION COMMIT
RUN make static VERSION="$VERSION" COMMIT="$COMMIT" && mkdir /data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /data /data
COPY --from=build /src/bin/petstore /petstore
USER 65532:65532
WORKDIR /data
VOLUME /data
ENV PETSTORE_SERVER_ADDRESS=:8080 PETSTORE_DATABASE_DSN=/data/petstore.db
EXPOSE 8080
ENTRYPOINT ["/petstore"]
CMD ["serve"]
