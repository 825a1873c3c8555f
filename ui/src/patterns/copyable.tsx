import { Button, Tooltip } from '@patternfly/react-core';
import CheckIcon from '@patternfly/react-icons/dist/esm/icons/check-icon';
import CopyIcon from '@patternfly/react-icons/dist/esm/icons/copy-icon';
import { useEffect, useState } from 'react';
import { useI18n } from '../i18n/i18n.js';

/** useCopy copies text. `copied` is true for two seconds afterwards. Outside of a secure context, it uses the legacy copy command. */
export function useCopy(): { readonly copied: boolean; readonly copy: (text: string) => void } {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (text: string) => {
    if (window.isSecureContext) void navigator.clipboard.writeText(text).then(() => setCopied(true));
    else setCopied(copyBySelection(text));
  };
  return { copied, copy };
}

function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}

export function CopyButton({ text, name }: { text: string; name?: string }) {
  const { t } = useI18n();
  const { copied, copy } = useCopy();
  return (
    <Tooltip content={copied ? t('copied') : t('copy')} aria="none" aria-live="polite">
      <Button
        variant="plain"
        size="sm"
        hasNoPadding
        className="sw-copy"
        icon={copied ? <CheckIcon /> : <CopyIcon />}
        aria-label={copied ? t('copied') : t('copyNamed', { name: name ?? text })}
        onClick={() => copy(text)}
      />
    </Tooltip>
  );
}

/** Copyable shows a value that people use elsewhere, such as an ID, digest or command. `shown` is an abbreviated form for display. */
export function Copyable({ text, shown = text, name }: { text: string; shown?: string; name?: string }) {
  return (
    <span className="sw-copyable">
      <span className="sw-mono" title={shown === text ? undefined : text}>
        {shown}
      </span>{' '}
      <CopyButton text={text} {...(name === undefined ? {} : { name })} />
    </span>
  );
}

/** Command shows lines to run in a terminal. */
export function Command({ text, name }: { text: string; name: string }) {
  return (
    <div className="sw-command-box">
      <pre className="sw-command" tabIndex={0} aria-label={name}>
        {text}
      </pre>
      <CopyButton text={text} name={name} />
    </div>
  );
}
