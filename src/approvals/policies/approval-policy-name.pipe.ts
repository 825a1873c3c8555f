import { resolvesNames } from '../../platform/http/id-or-name.js';
import { ApprovalPolicy } from './approval-policy.entity.js';

/** ApprovalPolicyName resolves the name of an approval policy in a path. */
export const ApprovalPolicyName = resolvesNames('approval-policy', ApprovalPolicy);
