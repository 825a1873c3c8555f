import type { ApprovalPolicy } from './approval-policy.entity.js';

/** What a policy is to say. */
export type PolicyOrder = Pick<
  ApprovalPolicy,
  'name' | 'subject' | 'keys' | 'conditions' | 'expiresInSeconds' | 'commentRequired' | 'rejectThreshold'
> & {
  /** `group` is the id or the name of an approver group. */
  readonly stages: readonly { readonly group: string; readonly threshold: number }[];
};
