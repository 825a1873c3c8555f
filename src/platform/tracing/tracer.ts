/** Facts about a step that are safe to show: kinds and names of code, never a digest, an address or a person. */
export type SpanFacts = Readonly<Record<string, string | number>>;

/** A call while it is answered. */
export interface TracedCall {
  /** Runs the rest of the call as a part of its trace. */
  within(work: () => void): void;
  end(route: string, status: number): void;
}

/** Makes spans of what is done. */
export interface Tracer {
  /** A step of the trace that this work belongs to; without one it is only done. */
  step<Result>(name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result>;
  /** Work that was handed over: it goes on in the trace that is named, in whatever process. */
  resume<Result>(traceParent: string, name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result>;
  /** A call that came in, with its `traceparent` if it has one. */
  call(method: string, traceParent: string | undefined): TracedCall;
  /** W3C Trace Context of the present step, for what is handed over; undefined outside of a trace that is recorded. */
  traceParent(): string | undefined;
  /** Sends what is left, within a moment. */
  stop(): Promise<void>;
}
