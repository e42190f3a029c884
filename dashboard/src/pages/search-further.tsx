import { useEffect, useRef, useState } from 'preact/hooks'
import { listJobs } from '../api/list-jobs.ts'
import { WindowLimited } from '../parts/empty.tsx'
import { attempt } from '../parts/toast.tsx'
import { setQuery } from '../route.ts'

/** One click looks at so many pages at most: the server looks at 2,000 jobs for each. */
const PAGES_MAX = 25

interface Props {
  readonly question: Readonly<Record<string, string>>
  readonly cursor: string | null
  readonly limit: number
}

/** None was found among the latest jobs. Goes back, page by page, until one is found, all were looked at, or it was enough. */
export function SearchFurther({ question, cursor, limit }: Props) {
  const [looksAt, setLooksAt] = useState<number | null>(null)
  const left = useRef(new AbortController())
  useEffect(() => () => left.current.abort(), [])
  const search = async () => {
    const { signal } = left.current
    let at = cursor
    for (let page = 1; page < PAGES_MAX && !signal.aborted; page++) {
      setLooksAt(page)
      const { items, next_cursor: next } = await listJobs({ ...question, limit, cursor: at }, signal)
      if (items.length > 0 || next === null) break
      at = next
    }
    if (!signal.aborted) setQuery({ cursor: at }, { push: true })
  }
  return (
    <WindowLimited
      isBusy={looksAt !== null}
      onMore={() =>
        void attempt(() =>
          search()
            .catch((error: unknown) => {
              if (!left.current.signal.aborted) throw error
            })
            .finally(() => setLooksAt(null)),
        )
      }
    >
      {looksAt === null
        ? 'The latest jobs were looked at, and none matches. Older ones may.'
        : `Looking at older ones: page ${looksAt} of ${PAGES_MAX}…`}
    </WindowLimited>
  )
}
