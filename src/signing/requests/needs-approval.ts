import { Problem } from '../../platform/errors/problem.js';

/** For callers who cannot wait for people. @param requestId the request that does wait, when there is one. */
export function needsApproval(requestId?: string): Problem {
  const detail = 'The key signs only after approval';
  if (requestId === undefined)
    return new Problem('forbidden', 'approval.needed', `${detail}, and this call cannot wait for it.`);
  const instance = `/api/v1/sign/requests/${requestId}`;
  return new Problem('forbidden', 'approval.needed', `${detail}, for which ${instance} waits.`, { instance });
}
