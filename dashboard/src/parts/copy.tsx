import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

export function Copy({ text, what }: { text: string; what: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = () => {
    void navigator.clipboard?.writeText(text).then(
      () => {
        setCopied(true)
        setTimeout(() => setCopied(false), 1_500)
      },
      () => {},
    )
  }
  return (
    <button
      type="button"
      class="button plain slim square copy"
      aria-label={isCopied ? 'Copied' : `Copy ${what}`}
      title={isCopied ? 'Copied' : `Copy ${what}`}
      onClick={copy}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
  )
}

/** The end of an id tells it apart: the beginning is the time. */
export function shortId(id: string): string {
  return id.length > 16 ? `${id.slice(0, 4)}…${id.slice(-8)}` : id
}
