import { Injectable } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { mayDo } from '../../access/scopes.js';
import { isMember } from '../../auth/rights/group-membership.js';
import { isId } from '../../platform/database/new-id.js';
import type { Followed } from '../../platform/http/event-stream.js';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../platform/http/cursors.js';
import { type BindValue, createdWithin, filteredList, type Span } from '../../platform/http/list-filter.js';
import type { PageQuery } from '../../platform/http/page.js';
import { missing } from '../../platform/errors/problem.js';
import { ADDED_BY_REQUESTER } from '../groups/membership.js';
import { type ApprovalStatus, isDecided, Approval, isRequester } from '../model/approval.entity.js';
import { type ApprovalKind, ApprovalSubjectsService } from '../policies/approval-subject.port.js';
import type { LoggedApproval, ShownVote } from './logged-approval.js';
import { LoggedApprovals } from './logged-approvals.js';
import { ApprovalWatch, approvalMarkOf } from './approval-watch.js';

export interface ApprovalFilter extends PageQuery, Span {
  readonly status?: ApprovalStatus;
  readonly subjectKind?: ApprovalKind;
  /** ID of a subject or of one of its parts, or the reference of signing requests. */
  readonly subject?: string;
  /** Name or ID of a signing key. */
  readonly key?: string;
  /** ID of the person behind the request, or name of the requester. */
  readonly requester?: string;
  /** `me`: only approvals that are waiting for the caller's vote. */
  readonly waiting?: 'me';
}

export interface ApprovalWithVotes extends Approval {
  /** The votes according to the audit log, in the order in which they were cast. */
  readonly votes: readonly ShownVote[];
  /** Number of votes in the database, by which ApprovalWatch detects a new vote. */
  readonly storedVotes: number;
}

/** The fields by which ApprovalWatch detects a change. */
type ApprovalState = Pick<ApprovalWithVotes, 'status' | 'stage' | 'storedVotes'>;

const STORED_VOTES = '(SELECT count(*)::int FROM approval_vote v WHERE v.approval_id = a.id)';
/** SQL condition: the person $1, which may be null, owns the approval or is a member of one of its groups. */
const IS_PARTY = `(a.owner_id = $1::text OR EXISTS (SELECT 1 FROM unnest(a.group_ids) AS asked(id) WHERE ${isMember('asked.id', '$1::uuid')}))`;
const WAITS = `a.status = 'PENDING' AND a.expires_at > now() AND NOT ${isRequester('$1::text')} AND ${isMember('a.group_id', '$1::uuid', ADDED_BY_REQUESTER)}
  AND NOT EXISTS (SELECT 1 FROM approval_vote v WHERE v.approval_id = a.id AND v.user_id = $1::uuid)`;

/** SQL query that returns no approvals. */
const NO_IDS = 'SELECT NULL::uuid WHERE false';

/** SQL expressions for the document of an approval and its digest. */
const DOCUMENT = { text: 'shown', digest: `encode(sha256(convert_to(shown, 'UTF8')), 'base64')` };
/** Returns SQL for lists, which do not read a batch's document, because the document can have 1,000 lines. `listed` composes a short form of the document. */
const NOT_READ = (instead: string, otherwise: string) =>
  `CASE subject_kind WHEN 'signing-batch' THEN ${instead} ELSE ${otherwise} END`;
const DOCUMENT_IN_LISTS = {
  text: NOT_READ(`''`, DOCUMENT.text),
  digest: NOT_READ(`encode(hash, 'base64')`, DOCUMENT.digest),
};

/** ApprovalsReader reads approvals for the requester, for members of every stage's group, and for readers of the audit log. */
@Injectable()
export class ApprovalsReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly watch: ApprovalWatch,
    private readonly logged: LoggedApprovals,
    private readonly subjects: ApprovalSubjectsService,
  ) {}

  /** Waits up to `seconds` seconds for the decision, and only then reads the approval, because the document of a batch is large. */
  async find(caller: Caller, id: string, seconds = 0): Promise<ApprovalWithVotes> {
    if (seconds > 0)
      await this.watch.rows.until(id, seconds, async () => {
        const row = await this.stateOf(caller, id);
        return { row, mark: approvalMarkOf(row), final: isDecided(row.status) };
      });
    return this.read(caller, id);
  }

  /** Returns the approval in the form that `answerEvents` needs. */
  async follow<View>(caller: Caller, id: string, viewOf: (found: ApprovalWithVotes) => View): Promise<Followed<View>> {
    const found = await this.read(caller, id);
    return { id, view: viewOf(found), mark: approvalMarkOf(found), final: isDecided(found.status) };
  }

  private async read(caller: Caller, id: string): Promise<ApprovalWithVotes> {
    await this.stateOf(caller, id);
    const [found] = await this.load([id]);
    if (found === undefined) throw new Error(`approval ${id} has no row, although approvals are never deleted`);
    return found;
  }

  private async stateOf(caller: Caller, id: string): Promise<ApprovalState> {
    const [row]: ApprovalState[] = await this.db.query(
      `SELECT a.status, a.stage, ${STORED_VOTES} AS "storedVotes" FROM approval a WHERE a.id = $2 AND ($3 OR ${IS_PARTY})`,
      [personOf(caller), id, seesAll(caller)],
    );
    if (row === undefined) throw missing('approval');
    return row;
  }

  /** Returns approvals, newest first. */
  async list(caller: Caller, filter: ApprovalFilter): Promise<Page<ApprovalWithVotes>> {
    const { limit = DEFAULT_LIMIT, cursor, ...wanted } = filter;
    const name = filteredList('approvals', wanted);
    const [before = null] = this.cursors.read(name, cursor) ?? [];
    const values: unknown[] = [personOf(caller), seesAll(caller), before, limit + 1];
    const conditions = await this.conditionsOf(caller, wanted, (value) => `$${values.push(value)}`);
    const ids: { id: string }[] = await this.db.query(
      `SELECT a.id FROM approval a WHERE ($2 OR ${IS_PARTY}) AND ($3::uuid IS NULL OR a.id < $3)
         ${conditions.map((condition) => `AND (${condition})`).join(' ')} ORDER BY a.id DESC LIMIT $4`,
      values,
    );
    const page = this.cursors.page(name, ids, limit, ({ id }) => [id]);
    const rows = await this.load(
      page.items.map(({ id }) => id),
      DOCUMENT_IN_LISTS,
    );
    return { ...page, items: rows.map(listed) };
  }

  private async conditionsOf(caller: Caller, filter: ApprovalFilter, bind: BindValue): Promise<string[]> {
    const { status, waiting, subjectKind, subject, key, requester } = filter;
    const requests = this.subjects.of('signing-request');
    const conditions = createdWithin(filter, { id: 'a.id', createdAt: 'a.created_at' }, bind);
    if (status !== undefined) conditions.push(`a.status = ${bind(status)}`);
    if (waiting === 'me') conditions.push(WAITS);
    if (subjectKind !== undefined) conditions.push(`a.subject_kind = ${bind(subjectKind)}`);
    if (requester !== undefined)
      conditions.push(
        `a.${isId(requester) ? 'owner_id' : 'requester_name'} = ${bind(isId(requester) ? requester.toLowerCase() : requester)}`,
      );
    if (key !== undefined)
      conditions.push(`a.id IN (${(await requests.approvalsOfKey?.(caller, key, bind)) ?? NO_IDS})`);
    if (subject !== undefined) {
      const ids = isId(subject) ? `SELECT ${bind(subject)}::uuid` : (requests.withReference?.(subject, bind) ?? NO_IDS);
      conditions.push(`a.id IN (SELECT b.id FROM approval b WHERE b.subject_id IN (${ids})
        UNION ALL SELECT i.approval_id FROM approval_item i WHERE i.subject_id IN (${ids}))`);
    }
    return conditions;
  }

  private async load(ids: readonly string[], document = DOCUMENT) {
    const approvals = await this.db.manager.find(Approval, { where: { id: In([...ids]) }, order: { id: 'DESC' } });
    const texts: { id: string; shown: string; digest: string; storedVotes: number }[] = await this.db.query(
      `SELECT id, ${document.text} AS shown, ${document.digest} AS digest,
         ${STORED_VOTES} AS "storedVotes"
       FROM approval a WHERE id = ANY($1::uuid[])`,
      [ids],
    );
    const digests = new Map(texts.map(({ id, digest }) => [id, digest]));
    const textOf = new Map(texts.map((one) => [one.id, one]));
    const rows = approvals.map((approval) => {
      const { shown: text = '{}', storedVotes = 0 } = textOf.get(approval.id) ?? {};
      return Object.assign(approval, { shown: text, storedVotes });
    });
    return this.logged.shownAs(this.db.manager, rows, digests);
  }
}

/** Composes the short form of a batch's document for lists, from the audit log. */
function listed<Row extends Approval & Pick<LoggedApproval, 'manifest'>>(row: Row): Row {
  if (row.shown !== '') return row;
  const { subjectId: batchId, ownerId: person, requestedBy: caller, manifest } = row;
  const batch = { action: 'sign-batch', batchId, size: manifest?.size, manifest: manifest?.root };
  return Object.assign(row, { shown: JSON.stringify({ ...batch, requester: { person, caller } }) });
}

/** Returns the ID of the person behind the caller; null if the ID of the owner is not a UUID. */
function personOf({ ownerId }: Caller): string | null {
  return isId(ownerId) ? ownerId : null;
}

function seesAll({ scopes }: Caller): boolean {
  return mayDo(scopes, 'audit:read');
}
