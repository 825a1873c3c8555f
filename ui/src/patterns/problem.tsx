import { Alert, AlertActionLink, Content, List, ListItem } from '@patternfly/react-core';
import { problemOf } from '../api/problem.js';
import { type MessageKey, useI18n } from '../i18n/i18n.js';
import { Copyable } from './copyable.js';

interface ProblemProps {
  readonly error: unknown;
  /** Retries the request. */
  readonly retry?: () => void;
  readonly isInline?: boolean;
}

/** adviceOf returns the message key of the advice for a problem. */
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

/** Problem shows every error of the console: what happened, what to do, and the request ID for support. */
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

/** Failed replaces a page or card whose data could not be loaded. */
export function Failed({ query }: { query: { error: unknown; refetch: () => unknown } }) {
  return <Problem error={query.error} retry={() => void query.refetch()} />;
}
