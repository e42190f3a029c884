import { useState } from 'preact/hooks'
import { wordsOf } from '../api/http.ts'
import { logIn } from '../api/session.ts'
import { TextField } from '../parts/field.tsx'

export function LoginPage() {
  const [key, setKey] = useState('')
  const [wrong, setWrong] = useState<string | null>(null)
  return (
    <main class="login">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault()
          setWrong(null)
          logIn(key.trim()).catch((error: unknown) => setWrong(wordsOf(error)))
        }}
      >
        <div class="card-body stack wide">
          <div class="brand">
            <img src={new URL('icon.svg', document.baseURI).href} alt="" />
            <h1>Pawl</h1>
          </div>
          <TextField
            label="API key"
            type="password"
            value={key}
            onInput={setKey}
            required
            wrong={wrong}
            hint="The browser keeps a session, not the key."
          />
          <button type="submit" class="button primary">
            Log in
          </button>
          <p class="small faint">
            An admin makes keys with <code>pawl keys create --name me --role viewer</code>
          </p>
        </div>
      </form>
    </main>
  )
}
