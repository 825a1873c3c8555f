export class FaultView {
  /** RFC 6901 pointer into the body, or the name of the parameter. @example /digest */
  pointer: string;
  /** @example 'a sha256 digest has 32 bytes, but this one has 20' */
  detail: string;
  /** Column of the error, starting at 1. Present only for syntax errors in parsed text, such as a JSON body or a list of scan targets. @example 12 */
  column?: number;
}

/** Problem details (RFC 9457). */
export class ProblemView {
  /** @example urn:sealwright:problem:digest.length */
  type: string;
  /** @example 'Bad Request' */
  title: string;
  /** @example 400 */
  status: number;
  /** @example '/digest: a sha256 digest has 32 bytes, but this one has 20.' */
  detail: string;
  /** Stable error code, documented in docs/errors.md. @example digest.length */
  code: string;
  /** X-Request-Id of the request. Include the ID in support requests. @example 7b0c9f5e-53a2-4a39-8a53-0a4d7d1f7d11 */
  requestId: string;
  /** Path of the resource that the problem concerns. @example /api/v1/sign/requests/01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  instance?: string;
  /** Scope that the caller lacks. @example sign:digest */
  scope?: string;
  errors?: FaultView[];
}
