/** One request, named by its endpoint: `GET /api/jobs/{job_id}`. */
export interface TransportRequest {
  readonly route: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal | undefined
}

export interface TransportAnswer {
  readonly status: number
  /** Parsed JSON, or null where there is none. */
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

/** One event of the stream, as SSE has it. */
export interface StreamedEvent {
  readonly id: string
  readonly event: string
  readonly data: unknown
}

/** How the client reaches the API: over HTTP, or in this process straight on a store. */
export interface Transport {
  /** What it talks to, for messages: `http://127.0.0.1:4747` or `sqlite pawl.db`. */
  readonly description: string
  send(request: TransportRequest): Promise<TransportAnswer>
  /** Events from now on, or after the one with this id. Ends when the signal fires. */
  events(options: { readonly after: string | null; readonly signal: AbortSignal }): AsyncIterable<StreamedEvent>
}
