/** pg times every query and hears of the end by a callback, which it sets when it is given one and the streams of COPY do not call. */
export function stopQueryTimer(stream: object): void {
  (stream as { callback?: () => void }).callback?.();
}
