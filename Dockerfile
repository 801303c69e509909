# The image that make image builds: the statically linked program, CA certificates and licenses, no shell. It does not run as root.
# The build context is the folder that make image fills, so nothing is downloaded.
FROM scratch
COPY ca-certificates.crt /etc/ssl/certs/
COPY --chown=65532:65532 data /data
COPY petstore licenses.txt /
USER 65532:65532
# A file of settings is petstore.yaml here or /etc/petstore/petstore.yaml, mounted. The variables below override it.
# The store is petstore.db here by default. PETSTORE_DATABASE_DSN is not set, since it excludes PETSTORE_DATABASE_DSN_FILE.
WORKDIR /data
VOLUME /data
# The image has no other folder for temporary files.
ENV PETSTORE_SERVER_ADDRESS=:8080 TMPDIR=/data
EXPOSE 8080
# Longer than the --timeout of 5s. During the start period, such as of a migration, a failed check does not count.
HEALTHCHECK --interval=10s --timeout=6s --start-period=5m CMD ["/petstore", "healthcheck"]
ENTRYPOINT ["/petstore"]
CMD ["serve"]
