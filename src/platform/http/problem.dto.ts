export class FaultView {
  /** RFC 6901 pointer into the body, or the parameter. @example /digest */
  pointer: string;
  /** @example a sha256 digest has 32 bytes, this one has 20 */
  detail: string;
}

/** RFC 9457. */
export class ProblemView {
  /** @example urn:sealwright:problem:digest.length */
  type: string;
  /** @example Bad Request */
  title: string;
  /** @example 400 */
  status: number;
  detail: string;
  /** Stable; explained in docs/errors.md. @example digest.length */
  code: string;
  /** X-Request-Id of the call; name it when you ask for help. */
  requestId: string;
  /** The resource that the problem is about. */
  instance?: string;
  /** The scope that is missing. */
  scope?: string;
  errors?: FaultView[];
}
