import { resolvesNames } from '../../platform/http/id-or-name.js';
import { ApproverGroup } from './approver-group.entity.js';

/** ApproverGroupName resolves the name of an approver group in a path. */
export const ApproverGroupName = resolvesNames('approver-group', ApproverGroup);
