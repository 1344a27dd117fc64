# Everything that the book needs: the versions of requirements.lock, and Chromium for checks and PDF.
#   docker build -t private-bandits .
#   docker run --rm -it private-bandits                 executes one chapter, small
#   docker run --rm -it private-bandits make book       executes all, and builds pages and PDF
FROM python:3.11-slim-bookworm

LABEL org.opencontainers.image.title="private-bandits" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="BSD-3-Clause"

RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium fonts-dejavu-core git make \
    && rm -rf /var/lib/apt/lists/*

RUN useradd --create-home reader && install -d -o reader /book
USER reader
WORKDIR /book
COPY --chown=reader . .
RUN make setup
CMD ["make", "chapter", "N=1", "PRESET=quick"]
