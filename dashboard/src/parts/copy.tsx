import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'
import { say } from './toast.tsx'

/** Whether it is in the clipboard now. Served without TLS from another machine, a page has no `navigator.clipboard`. */
async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const put = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text)
    event.preventDefault()
  }
  document.addEventListener('copy', put)
  const isDone = document.execCommand('copy')
  document.removeEventListener('copy', put)
  return isDone
}

export function Copy({ text, what }: { text: string; what: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = () => {
    void copyText(text).then((isDone) => {
      if (!isDone) return say('The browser did not let us copy it.', { tone: 'bad' })
      setCopied(true)
      setTimeout(() => setCopied(false), 1_500)
    })
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
