/** Bits of PKIFailureInfo that a timestamp authority uses (RFC 3161 section 2.4.2). */
export const FAILURE_BITS = {
  badAlg: 0,
  badRequest: 2,
  badDataFormat: 5,
  timeNotAvailable: 14,
  unacceptedPolicy: 15,
  unacceptedExtension: 16,
  systemFailure: 25,
} as const;
export type FailureInfo = keyof typeof FAILURE_BITS;

/** A query that gets no token. The client hears it as PKIStatus rejection, with HTTP 200. */
export class TimestampRefusal extends Error {
  constructor(
    readonly failure: FailureInfo,
    message: string,
  ) {
    super(message);
    this.name = 'TimestampRefusal';
  }
}
