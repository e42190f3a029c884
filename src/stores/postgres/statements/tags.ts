import type { Transaction } from '../transaction.ts'

// As many rows as the Job has different tags.
const INSERT_TAGS = `
insert into pawl.job_tags (tag, seq)
select distinct tag, $1::bigint
from json_array_elements_text($2::json) tag`

/** Lets a Job that was just written be found by its tags, which are given as JSON. */
export async function insertTags({ connection }: Transaction, seq: number, tags: string): Promise<void> {
  await connection.run(INSERT_TAGS, seq, tags)
}
