/** What pg puts on a COPY of pg-copy-streams when it submits it. */
export interface TimedQuery {
  callback?: () => void;
  query_timeout?: number;
}

/** pg times every query and hears of the end by a callback, which these streams do not call. */
export function stopQueryTimer(stream: object): void {
  (stream as TimedQuery).callback?.();
}
