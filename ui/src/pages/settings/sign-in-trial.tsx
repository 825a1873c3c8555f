import { Alert, Stack, StackItem } from '@patternfly/react-core';
import { useEffect, useRef } from 'react';
import { readTestSignIn, startTestSignIn } from '../../api/generated/sdk.gen.js';
import type { SignInTrialView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Command } from '../../patterns/copyable.js';
import { Facts } from '../../patterns/facts.js';
import { Problem } from '../../patterns/problem.js';
import { useAction } from '../../patterns/use-action.js';
import { visibleJson, withVisibleText } from '../../patterns/visible-text.js';

/** useStartTrial redirects to the provider for a test sign-in, which leads back to this page and does not affect the session. */
export function useStartTrial() {
  return useAction(
    async (name: string) => {
      const answer = await startTestSignIn({ path: { name }, body: { returnTo: location.pathname } });
      location.assign(answer.data.redirect);
      return answer;
    },
    { changes: [] },
  );
}

/** takeTicket removes the ticket of a completed test sign-in from the URL and returns it. */
function takeTicket(): string | undefined {
  const ticket = /^#test=(\w+)$/.exec(location.hash)?.[1];
  if (ticket !== undefined) history.replaceState(history.state, '', `${location.pathname}${location.search}`);
  return ticket;
}

/** ReturnedTrial shows the result of a test sign-in after the redirect back. */
export function ReturnedTrial() {
  const read = useAction((ticket: string) => readTestSignIn({ body: { ticket } }), { changes: [] });
  const { mutate } = read;
  const isRead = useRef(false);
  useEffect(() => {
    if (isRead.current) return;
    isRead.current = true;
    const ticket = takeTicket();
    if (ticket !== undefined) mutate(ticket);
  }, [mutate]);
  if (read.isError) return <Problem error={read.error} />;
  return read.data === undefined ? null : <Trial of={read.data} />;
}

function Trial({ of }: { of: SignInTrialView }) {
  const { t, named } = useI18n();
  const { provider, problem, subject, matched, roles, groups, contexts, methods, account } = withVisibleText(of);
  const list = (values: readonly string[]) => (values.length === 0 ? '–' : values.join(', '));
  const rules = matched.map(({ claim, op, value }) => `${claim} ${op === 'equals' ? '=' : '^='} ${value}`);
  return (
    <Alert
      component="h2"
      isInline
      role="status"
      variant={problem === null ? 'success' : 'danger'}
      title={t(problem === null ? 'sso.trial.ok' : 'sso.trial.failed', { name: provider })}
    >
      <Stack hasGutter>
        {problem !== null && (
          <StackItem>
            {problem.detail} {problem.reason}
          </StackItem>
        )}
        <StackItem>
          <Facts
            facts={[
              [t('sso.trial.subject'), subject],
              [
                t('sso.trial.account'),
                account && t(account.isNew ? 'sso.trial.new' : 'sso.trial.known', { email: account.email }),
              ],
              [t('sso.trial.rules'), list(rules)],
              [t('roles'), list(roles.map((role) => named('role', role)))],
              [t('sso.trial.groups'), list(groups)],
              [t('sso.trial.contexts'), list(contexts)],
              [t('sso.trial.methods'), list(methods)],
            ]}
          />
        </StackItem>
        {subject !== null && (
          <StackItem>
            <Command name={t('sso.trial.claims')} text={visibleJson(of.claims)} />
          </StackItem>
        )}
        <StackItem>{t('sso.trial.nothing')}</StackItem>
      </Stack>
    </Alert>
  );
}
