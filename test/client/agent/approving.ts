import { type Approver, newApprover, newGroup, type ApprovalFixture, unique, vote } from '../../approvals/approvers.js';

export interface ApprovedDocument {
  readonly approvalId: string;
  readonly title: string;
  /** The document that was approved. */
  readonly shown: Record<string, unknown>;
}

/** Somebody who must say yes to every use of a key, and says so as soon as they are asked. */
export interface Voter {
  readonly voted: ApprovedDocument[];
  stop(): Promise<void>;
}

/** A policy that asks one person of a new group for these keys. Answers the person. */
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

/** Looks for what waits for the person, and decides it. */
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
