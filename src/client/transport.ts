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

/** One event of the stream, as SSE has it. `reset` says that events before it may be missing. */
export interface StreamedEvent {
  readonly id: string
  readonly event: string
  readonly data: unknown
}

export interface StreamOptions {
  /** Go on after the event with this id. Null: from now on. */
  readonly after: string | null
  readonly signal: AbortSignal
  /**
   * Called with each place that a later stream could go on after: also while everything is silent, or filtered out.
   */
  readonly reached?: (id: string) => void
}

/** How the client reaches the API: over HTTP, or in this process straight on a store. */
export interface Transport {
  /** What it talks to, for messages: `http://127.0.0.1:4747` or `sqlite pawl.db`. */
  readonly description: string
  send(request: TransportRequest): Promise<TransportAnswer>
  /** Events until the signal fires. Ends or throws also when the way is cut; following again after it is the client's. */
  events(options: StreamOptions): AsyncIterable<StreamedEvent>
}
