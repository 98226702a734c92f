CREATE TABLE format (version integer NOT NULL);

-- plan and labels are for SQL; `record` is run.json and trial.record a line of trials.ndjson, to the byte.
CREATE TABLE run (
    run_id      uuid        PRIMARY KEY,
    name        text        NOT NULL,
    experiment  text        NOT NULL,
    plan_hash   text        NOT NULL,
    seed        bigint      NOT NULL,
    hosts       jsonb       NOT NULL,
    labels      jsonb       NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    state       text        NOT NULL,
    ended_by    text,
    pushed_by   text        NOT NULL,
    pushed_at   timestamptz NOT NULL DEFAULT now(),
    plan        jsonb       NOT NULL,
    record      text        NOT NULL
);
CREATE INDEX run_by_name ON run (name);
CREATE INDEX run_by_start ON run (started_at);

CREATE TABLE trial (
    run_id    uuid    NOT NULL REFERENCES run ON DELETE CASCADE,
    trial     integer NOT NULL,
    line      integer NOT NULL,
    purpose   text    NOT NULL,
    block     integer NOT NULL,
    workload  text    NOT NULL,
    contender text    NOT NULL,
    point     jsonb   NOT NULL,
    status    text    NOT NULL,
    metrics   jsonb   NOT NULL,
    record    text    NOT NULL,
    PRIMARY KEY (run_id, trial)
);

CREATE TABLE file (
    run_id  uuid   NOT NULL REFERENCES run ON DELETE CASCADE,
    path    text   NOT NULL,
    sha256  text   NOT NULL,
    bytes   bigint NOT NULL,
    content bytea  NOT NULL,
    PRIMARY KEY (run_id, path)
);

-- One row for each trial that succeeded and is no probe, with the metric that verdicts about its workload come from.
CREATE VIEW tps AS
    SELECT run.run_id, run.name, run.experiment, run.labels, run.started_at, trial.trial, trial.purpose, trial.block,
           trial.workload, trial.contender, trial.point, declared.metric,
           (trial.metrics ->> declared.metric)::double precision AS value
    FROM trial
    JOIN run USING (run_id)
    CROSS JOIN LATERAL (
        SELECT coalesce(entry #>> '{primary,name}', 'tps') AS metric
        FROM jsonb_array_elements(run.plan -> 'workloads') AS entries (entry)
        WHERE entry ->> 'label' = trial.workload
        LIMIT 1
    ) AS declared
    WHERE trial.status = 'ok' AND trial.purpose IN ('compare', 'repeat', 'alone', 'crash');
