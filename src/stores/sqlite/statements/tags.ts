import type { Transaction } from '../transaction.ts'

// As many rows as the Job has different tags.
const INSERT_TAGS = `
insert into pawl_job_tags (tag, seq)
select value, ?
from json_each(?)
where true
on conflict do nothing`

/** Lets a Job that was just written be found by its tags, which are given as JSON. */
export function insertTags({ connection }: Transaction, seq: number, tags: string): void {
  connection.run(INSERT_TAGS, seq, tags)
}
