/** Where a Chromium is; null: there is none. */
export function chromiumPath(): string | null
