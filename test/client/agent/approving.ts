import { type Approver, newApprover, newGroup, type ApprovalFixture, unique, vote } from '../../approvals/approvers.js';

export interface ApprovedDocument {
  readonly approvalId: string;
  readonly title: string;
  /** Document that was approved. */
  readonly shown: Record<string, unknown>;
}

/** An approver who votes on each pending request for a key as soon as the request appears. */
export interface Voter {
  readonly voted: ApprovedDocument[];
  stop(): Promise<void>;
}

/** Creates a policy for these keys that requires a vote from a new group with one member. Returns the member. */
export async function requireApprover(place: ApprovalFixture, keys: readonly string[]): Promise<Approver> {
  const approver = await newApprover(place);
  const group = await newGroup(place, [approver]);
  const { service, apiKey } = place;
  const body = { name: unique('policy'), keys, stages: [{ group: group.body.id as string, threshold: 1 }] };
  const { status, body: made } = await service.call('POST', '/api/v1/approval-policies', { key: apiKey, body });
  if (status !== 201) throw new Error(JSON.stringify(made));
  return approver;
}

const LOOK_EVERY_MS = 100;

/** Polls for pending approvals of the person and votes on each. */
export function voting(
  { service }: Pick<ApprovalFixture, 'service'>,
  { accessToken }: Pick<Approver, 'accessToken'>,
  decision: 'approve' | 'reject' = 'approve',
): Voter {
  const voted: ApprovedDocument[] = [];
  const end = new AbortController();
  const work = (async () => {
    while (!end.signal.aborted) {
      const { body } = await service.call('GET', '/api/v1/approvals?waiting=me', { key: accessToken });
      for (const { id, title, shown } of (body.items ?? []) as {
        id: string;
        title: string;
        shown: ApprovedDocument['shown'];
      }[]) {
        const { status } = await vote(service, id, { accessToken }, { decision });
        if (status === 200) voted.push({ approvalId: id, title, shown });
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  })();
  return {
    voted,
    stop: () => {
      end.abort();
      return work;
    },
  };
}
