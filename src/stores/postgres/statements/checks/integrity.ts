import type { Finding } from '../../../../store/checks.ts'
import { findingOf } from '../../../shared/finding.ts'
import type { Connection } from '../../connection.ts'
import { schemaTexts } from '../../migrations/index.ts'
import { checkOf, type InvariantCheck } from './probe.ts'
import { declaredParts } from './schema-parts.ts'

// Numbers of lanes, policies and nodes are never given again, and their rows are never removed.
const SELECT_DANGLING = `
select 'job ' || j.job_id || ' to a lane' as id
from pawl.jobs j
where not exists (select 1 from pawl.lanes l where l.lane_id = j.lane_id)
union all
select 'job ' || j.job_id || ' to a policy'
from pawl.jobs j
where not exists (select 1 from pawl.policies p where p.policy_id = j.policy_id)
union all
select 'run ' || r.run_id || ' to a node'
from pawl.runs r
where not exists (select 1 from pawl.nodes n where n.node_seq = r.node_seq)
union all
select 'logs of job number ' || log.seq || ' to a run'
from pawl.run_logs log
where log.line = 1 and not exists (select 1 from pawl.runs r where r.seq = log.seq)
union all
select 'reservation ' || s.reservation_id || ' to a lane, a policy or a node'
from pawl.reservations s
where not exists (select 1 from pawl.lanes l where l.lane_id = s.lane_id)
  or not exists (select 1 from pawl.policies p where p.policy_id = s.policy_id)
  or not exists (select 1 from pawl.nodes n where n.node_seq = s.caller_seq)
union all
select 'delivery ' || d.delivery_id || ' to a job'
from pawl.deliveries d
where not exists (select 1 from pawl.jobs j where j.seq = d.job_seq)`

const references = checkOf('I17', '', [
  {
    sql: SELECT_DANGLING,
    message: 'Rows refer to rows that do not exist.',
    advice: 'Restore a backup if rows were changed by hand; else report this as a bug of Pawl.',
  },
])

export const integrity: InvariantCheck = {
  invariant: 'I17',
  title: 'The database is whole: its references and its schema.',
  async examine(connection, now) {
    return [...(await references.examine(connection, now)), ...(await compareSchema(connection))]
  },
}

// The schema is the one in which this very table is.
const OUR_SCHEMA = '(select relnamespace from pg_class where oid = (select tableoid from pawl.migrations limit 1))'

// An index that could not be built to its end is there, but guarantees nothing.
const SELECT_PARTS = `
select kind || c.relname as part
from pg_class c
join (values ('r', 'table '), ('p', 'table '), ('v', 'view '), ('m', 'view ')) as named (relkind, kind)
  on named.relkind = c.relkind::text
where c.relnamespace = ${OUR_SCHEMA}
union all
select 'sequence ' || c.relname
from pg_class c
where c.relnamespace = ${OUR_SCHEMA} and c.relkind = 'S'
  and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'i')
union all
select 'column ' || c.relname || '.' || a.attname
from pg_class c
join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = ${OUR_SCHEMA} and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
union all
select case when i.indisunique then 'unique index ' else 'index ' end || c.relname
from pg_index i
join pg_class c on c.oid = i.indexrelid
where c.relnamespace = ${OUR_SCHEMA} and i.indisvalid
  and not exists (select 1 from pg_constraint k where k.conindid = i.indexrelid)
union all
select case k.contype when 'p' then 'primary key ' else 'unique ' end || t.relname || ' (' || (
    select string_agg(a.attname, ', ' order by key.place)
    from unnest(k.conkey) with ordinality as key (attnum, place)
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = key.attnum
  ) || ')'
from pg_constraint k
join pg_class t on t.oid = k.conrelid
where t.relnamespace = ${OUR_SCHEMA} and k.contype in ('p', 'u')
union all
select 'function ' || p.proname
from pg_proc p
where p.pronamespace = ${OUR_SCHEMA}
union all
select 'trigger ' || t.tgname
from pg_trigger t
join pg_class c on c.oid = t.tgrelid
where c.relnamespace = ${OUR_SCHEMA} and not t.tgisinternal`

/** With what the migrations say. */
async function compareSchema(connection: Connection): Promise<Finding[]> {
  const expected = declaredParts(schemaTexts())
  const found = new Set((await connection.all<{ part: string }>(SELECT_PARTS)).map(({ part }) => part))
  const missing = [...expected].filter((part) => !found.has(part))
  const added = [...found].filter((part) => !expected.has(part))
  return [
    ...(missing.length === 0
      ? []
      : [
          findingOf(
            {
              message: 'Parts of the schema are missing or were changed, so what they guarantee is not guaranteed.',
              advice: 'Restore a backup, or make them again as docs/postgres-schema.md and the migrations say.',
            },
            missing,
          ),
        ]),
    ...(added.length === 0
      ? []
      : [
          findingOf(
            {
              severity: 'warning',
              message: 'Somebody has added tables, columns, indexes, views, functions or triggers of their own.',
              advice: 'Keep what is yours in a schema of its own: a later version of Pawl may use the same names.',
            },
            added,
          ),
        ]),
  ]
}
