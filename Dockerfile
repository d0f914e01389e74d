# Remora, which needs no model.
#
#   docker build -t remora .
#   docker run --rm -v "$PWD:/project" remora analyze
#
# With the embedded model and its weights inside: docker build --build-arg MODEL=embedded …
# A registry of your own: docker build --secret id=pip,src=pip.conf -t remora .
FROM python:3.14-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap git \
    && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory '*' \
    && useradd --create-home --uid 1000 remora

WORKDIR /opt/remora
COPY pyproject.toml README.md LICENSE ./
COPY requirements/core.txt requirements/embedded.txt requirements/
COPY src src

# core or embedded
ARG MODEL=core

RUN --mount=type=secret,id=pip,target=/etc/pip.conf,mode=0444 \
    pip install --no-cache-dir --require-hashes -r requirements/$MODEL.txt \
    && pip install --no-cache-dir --no-deps .

USER remora
RUN --mount=type=secret,id=pip,target=/etc/pip.conf,mode=0444 \
    if [ "$MODEL" = embedded ]; then remora model pull --quiet; fi

WORKDIR /project
ENTRYPOINT ["remora"]
