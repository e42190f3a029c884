import { describePrograms } from './code-programs.ts'
import { readPages } from './markdown.ts'

/** Parts of files that only their reader has; and what needs a PostgreSQL server, in postgres-page.test.ts. */
const OTHER_PAGES = ['docs/store-conformance.md', 'docs/performance.md', 'docs/postgres.md']

const pages = readPages().filter(
  ({ path }) => (path === 'README.md' || path.startsWith('docs/')) && !OTHER_PAGES.includes(path),
)

describePrograms('the code in README.md and docs/', pages)
