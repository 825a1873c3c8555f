import { type OutboundAnswer, secondsAsked } from '../../platform/outbound/outbound-client.js';
import type { WebhookDeliveryStatus } from './webhook-delivery.entity.js';

/** Pause after each attempt, in seconds. The schedule is that of Standard Webhooks and spans about three days. */
const PAUSES = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;
/**
 * Maximum random extension of a pause, as a fraction of the pause. The extension prevents simultaneous attempts when many receivers recover at the same time.
 */
const JITTER = 0.1;
const MAX_PAUSE = 86_400;

/** Matches the body that Teams webhooks (connectors) send with status 200 if Teams rejected the message, often because of rate limits. */
const REFUSED_AS_TAKEN = /^\s*"?Webhook message delivery failed/;

export interface WebhookOutcome {
  readonly status: WebhookDeliveryStatus;
  /** Seconds until the next attempt; 0 if there are no further attempts. */
  readonly pauseSeconds: number;
  readonly httpStatus?: number;
  readonly failure?: string;
  /** Whether the receiver responded that it accepts no further messages (410). */
  readonly gone: boolean;
}

/**
 * afterAttempt returns the outcome of an attempt. Only 2xx is a success; redirects are not followed and count as failures.
 * @param tries number of attempts, including the current attempt
 */
export function afterAttempt(answer: OutboundAnswer | Error, tries: number): WebhookOutcome {
  if (answer instanceof Error) return again(tries, { failure: answer.message, gone: false });
  const { status: httpStatus } = answer;
  const isTaken = httpStatus >= 200 && httpStatus < 300;
  if (isTaken && REFUSED_AS_TAKEN.test(answer.body))
    return again(tries, {
      httpStatus,
      failure: `the receiver responded with ${httpStatus} but did not deliver the message`,
      gone: false,
    });
  if (isTaken) return { status: 'DELIVERED', pauseSeconds: 0, httpStatus, gone: false };
  const failure = `the receiver responded with ${httpStatus}${wordOf(answer)}`;
  if (httpStatus === 410) return { status: 'GIVEN_UP', pauseSeconds: 0, httpStatus, failure, gone: true };
  return again(tries, { httpStatus, failure, gone: false }, secondsAsked(answer));
}

/** Returns the one-word error from Slack or a similar receiver (`invalid_blocks`, `channel_is_archived`). No other response text is shown. */
function wordOf({ body }: OutboundAnswer): string {
  const word = body.trim();
  return /^[a-z]{2,20}(?:_[a-z]{1,20}){0,5}$/.test(word) ? `: ${word}` : '';
}

/** Schedules the next attempt, or gives up after the last attempt. A receiver can request a longer pause (Retry-After), up to MAX_PAUSE. */
function again(
  tries: number,
  what: Pick<WebhookOutcome, 'httpStatus' | 'failure' | 'gone'>,
  asked = 0,
): WebhookOutcome {
  const pause = PAUSES[tries - 1];
  if (pause === undefined) return { status: 'GIVEN_UP', pauseSeconds: 0, ...what };
  const wanted = Number.isFinite(asked) && asked > pause ? Math.min(asked, MAX_PAUSE) : pause;
  return { status: 'PENDING', pauseSeconds: wanted * (1 + Math.random() * JITTER), ...what };
}
