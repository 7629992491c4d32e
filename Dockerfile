# The images of the project: `docker build --target operator .` and `docker build --target spark .`
#
# Behind a mirror or a company's certificate authority, give the settings as build secrets, which reach no layer of an
# image: `pip` (a pip.conf), `certificates` (PEM; that pip.conf says `cert = /run/secrets/certificates`) and
# `maven-settings` (a settings.xml). Without them the public defaults hold. `python3 -m e2e.images` gives the host's.
ARG BASE=python:3.11-slim-bookworm

# --- operator: Python only, without the libraries' own tests; their layer outlives every change of the code ----------
FROM ${BASE} AS operator
RUN groupadd --gid 65532 sluice \
 && useradd --uid 65532 --gid 65532 --home-dir /tmp --no-create-home --shell /usr/sbin/nologin sluice
COPY requirements/operator.txt /tmp/requirements.txt
RUN --mount=type=secret,id=pip --mount=type=secret,id=certificates \
    python3 -m venv /opt/venv \
 && PIP_CONFIG_FILE=/run/secrets/pip /opt/venv/bin/pip install --quiet --no-cache-dir --require-hashes -r /tmp/requirements.txt \
 && find /opt/venv -type d -name tests -prune -exec rm -r {} + \
 && rm -r /tmp/requirements.txt /opt/venv/lib/python3.11/site-packages/pip /opt/venv/bin/pip*
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 HOME=/tmp
COPY --chmod=755 images/operator/sluice /opt/venv/bin/sluice
# Whatever the umask of the checkout was, its files must be open to the image's user.
COPY --chmod=755 operator/sluice /opt/venv/lib/python3.11/site-packages/sluice
# A read-only root file system cannot keep bytecode, so it is made here.
RUN /opt/venv/bin/python3 -m compileall -q /opt/venv/lib/python3.11/site-packages/sluice
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["sluice"]
CMD ["run"]

# --- java: the runtime that Spark and the jars' stage share ----------------------------------------------------------
FROM ${BASE} AS java
RUN apt-get update -qq \
 && apt-get install -qq -y --no-install-recommends openjdk-17-jre-headless tini >/dev/null \
 && apt-get clean && rm -rf /var/lib/apt/lists/*

# --- jars: the Kafka connector, which pip's pyspark lacks ------------------------------------------------------------
FROM java AS jars
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends maven >/dev/null
# Java reads only its own store, which is made from files of one certificate each.
RUN --mount=type=secret,id=certificates \
    if [ -s /run/secrets/certificates ]; then \
      cd /usr/local/share/ca-certificates \
      && awk '/BEGIN CERTIFICATE/ { n++ } n { print > "given-" n ".crt" }' /run/secrets/certificates \
      && update-ca-certificates >/dev/null 2>&1; \
    fi
COPY images/spark/pom.xml /build/pom.xml
RUN --mount=type=secret,id=maven-settings,target=/root/.m2/settings.xml \
    mvn -q -B -f /build/pom.xml dependency:copy-dependencies -DexcludeTransitive=true -DoutputDirectory=/jars

# --- pyspark: Spark with the connector -------------------------------------------------------------------------------
FROM java AS pyspark
COPY images/spark/requirements.txt /tmp/requirements.txt
RUN --mount=type=secret,id=pip --mount=type=secret,id=certificates \
    python3 -m venv /opt/venv \
 && PIP_CONFIG_FILE=/run/secrets/pip /opt/venv/bin/pip install --quiet --no-cache-dir --require-hashes -r /tmp/requirements.txt \
 && rm /tmp/requirements.txt
ENV PATH=/opt/venv/bin:$PATH \
    SPARK_HOME=/opt/venv/lib/python3.11/site-packages/pyspark
COPY --from=jars /jars/ /opt/venv/lib/python3.11/site-packages/pyspark/jars/

# --- classes: an archive of what JVMs of Spark load at first, by which they begin sooner (bench/results/startup.md) -----
FROM pyspark AS classes
COPY images/spark/classes /build
RUN /build/archive.sh /opt/spark/classes

# --- spark: driver and executors; /opt/sluice is where the operator mounts the agent ---------------------------------
FROM pyspark AS spark
RUN groupadd --gid 185 spark \
 && useradd --uid 185 --gid 185 --home-dir /tmp --no-create-home --shell /usr/sbin/nologin spark \
 && mkdir -p /opt/sluice /opt/spark/conf
COPY --from=classes /opt/spark/classes /opt/spark/classes
COPY --chmod=755 images/spark/java.sh /opt/spark/java/bin/java
COPY --chmod=755 images/spark/entrypoint.sh images/spark/decom.sh /opt/
ENV JAVA_HOME=/opt/spark/java PYTHONUNBUFFERED=1 HOME=/tmp
COPY --chmod=755 jobs /opt/jobs
USER 185:185
# Not /opt/jobs: `python3 -m jobs.load.generate` must find the package `jobs`.
WORKDIR /opt
ENTRYPOINT ["/opt/entrypoint.sh"]
CMD ["python3"]
