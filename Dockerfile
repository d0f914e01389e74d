# Remora with the embedded model's weights inside.
#
#   docker build -t remora .
#   docker run --rm -v "$PWD:/project" remora analyze
#
# A registry of your own: docker build --secret id=pip,src=pip.conf -t remora .
FROM python:3.11-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap git \
    && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory '*' \
    && useradd --create-home --uid 1000 remora

WORKDIR /opt/remora
COPY pyproject.toml README.md LICENSE ./
COPY requirements/embedded.txt requirements/
COPY src src

RUN --mount=type=secret,id=pip,target=/etc/pip.conf,mode=0444 \
    pip install --no-cache-dir --require-hashes -r requirements/embedded.txt \
    && pip install --no-cache-dir --no-deps .

USER remora
RUN --mount=type=secret,id=pip,target=/etc/pip.conf,mode=0444 \
    remora model pull --quiet

WORKDIR /project
ENTRYPOINT ["remora"]
