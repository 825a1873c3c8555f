import { databaseProblem } from '../../../platform/errors/database-problem.js';
import { sqlState } from '../../../platform/errors/database-error.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { IngestReply, PlainProblem } from '../staging/ingest-order.js';

/** SQLSTATE query_canceled: a statement reached its timeout. */
const TOO_SLOW = '57014';

/**
 * tooCostly returns the Problem that rejects a document permanently, because a retry would be just as costly. @param verdict predicate that describes the cost
 * of the document
 */
export function tooCostly(verdict: string): Problem {
  const detail = `${verdict}; send it in parts, or without its large members`;
  return new Problem('refused', 'document.too-costly', `The document ${detail}.`, {
    errors: [{ pointer: '', detail }],
  });
}

/**
 * faultReply returns the part of a reply that explains why a document was not ingested. For errors other than Problems, only the name and stack are included,
 * because the message may quote the body.
 */
export function faultReply(error: unknown): Pick<IngestReply, 'problem' | 'failure'> {
  if (error instanceof Problem) return { problem: plain(error) };
  if (error instanceof RangeError) {
    return { problem: { kind: 'malformed', code: 'request.malformed', message: 'The body is nested too deeply.' } };
  }
  if (sqlState(error) === TOO_SLOW) {
    return { problem: plain(tooCostly('occupied the database for more than five minutes')) };
  }
  const ofDatabase = databaseProblem(error);
  if (ofDatabase !== undefined) return { problem: plain(ofDatabase) };
  return { failure: error instanceof Error ? `${error.name} ${framesOf(error)}` : 'unknown' };
}

/** Returns the first frames of the stack, which follow the message. The message may have several lines. */
function framesOf({ message, stack = '' }: Error): string {
  const start = stack.indexOf(message);
  return start === -1
    ? ''
    : stack
        .slice(start + message.length)
        .split('\n')
        .slice(1, 6)
        .join(' ');
}

function plain({ kind, code, message, errors }: Problem): PlainProblem {
  return { kind, code, message, ...(errors === undefined ? {} : { errors }) };
}
