import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { wordsOf } from '../api/http.ts'
import { hold, release } from '../live/stream.ts'
import { Icon } from './icon.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly foot?: ComponentChildren
  readonly isBig?: boolean
}

/** While it is open, the page behind it does not move. */
export function Dialog({ title, onClose, children, foot, isBig = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const dialog = element.current
    const before = document.activeElement
    dialog?.showModal()
    hold('dialog')
    return () => {
      release('dialog')
      dialog?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      class={isBig ? 'big' : undefined}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === element.current) onClose()
      }}
    >
      <div class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="button plain slim square" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      {children}
      {foot && <div class="dialog-foot">{foot}</div>}
    </dialog>
  )
}

interface FormDialogProps {
  readonly title: string
  readonly submit: string
  readonly isDanger?: boolean
  readonly isBig?: boolean
  readonly isReady?: boolean
  readonly onClose: () => void
  /** Closes when it resolves; what it throws is shown in the dialog, which stays open. */
  readonly onSubmit: () => Promise<unknown>
  readonly children: ComponentChildren
}

export function FormDialog(props: FormDialogProps) {
  const { title, submit, onClose, onSubmit, children, isDanger = false, isReady = true } = props
  const [wrong, setWrong] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const act = async () => {
    setBusy(true)
    setWrong(null)
    try {
      await onSubmit()
      onClose()
    } catch (error) {
      setWrong(wordsOf(error))
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose} isBig={props.isBig ?? false}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void act()
        }}
      >
        <div class="dialog-body">
          {children}
          {wrong !== null && (
            <div class="banner bad" role="alert">
              <Icon name="warn" />
              <div>{wrong}</div>
            </div>
          )}
        </div>
        <div class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" class={`button primary ${isDanger ? 'danger' : ''}`} disabled={isBusy || !isReady}>
            {submit}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
