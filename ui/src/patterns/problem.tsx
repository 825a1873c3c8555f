import { Alert, AlertActionLink, Content, List, ListItem } from '@patternfly/react-core';
import { problemOf } from '../api/problem.js';
import { type MessageKey, useI18n } from '../i18n/i18n.js';
import { Copyable } from './copyable.js';

interface ProblemProps {
  readonly error: unknown;
  /** Offers to try again. */
  readonly retry?: () => void;
  readonly isInline?: boolean;
}

/** What to do, by the kind of answer. */
function adviceOf(status: number): MessageKey {
  if (status === 0) return 'problem.advice.network';
  if (status === 401) return 'problem.advice.signIn';
  if (status === 403) return 'problem.advice.scope';
  if (status === 404) return 'problem.advice.missing';
  if (status === 409 || status === 412) return 'problem.advice.changed';
  if (status === 429) return 'problem.advice.slower';
  if (status >= 500) return 'problem.advice.operator';
  return 'problem.advice.input';
}

/** The one way in which errors are shown: what happened, what to do, and the id to name when asking for help. */
export function Problem({ error, retry, isInline = true }: ProblemProps) {
  const { t } = useI18n();
  const problem = problemOf(error).facts;
  const title = problem.status === 0 ? t('problem.network') : problem.title || t('problem.title');
  return (
    <Alert
      component="h2"
      variant="danger"
      isInline={isInline}
      title={title}
      role="alert"
      actionLinks={retry && <AlertActionLink onClick={retry}>{t('problem.retry')}</AlertActionLink>}
    >
      {problem.detail !== '' && <p>{problem.detail}</p>}
      {problem.errors.length > 0 && (
        <List>
          {problem.errors.map(({ pointer, detail }) => (
            <ListItem key={`${pointer} ${detail}`}>
              <span className="sw-mono">{pointer}</span> {detail}
            </ListItem>
          ))}
        </List>
      )}
      <p>{t(adviceOf(problem.status))}</p>
      {problem.requestId !== undefined && (
        <Content component="small" className="sw-problem__id">
          {t('problem.requestId')} <Copyable text={problem.requestId} /> <span className="sw-mono">{problem.code}</span>
        </Content>
      )}
    </Alert>
  );
}

/** For a page or a card whose data did not come. */
export function Failed({ query }: { query: { error: unknown; refetch: () => unknown } }) {
  return <Problem error={query.error} retry={() => void query.refetch()} />;
}
