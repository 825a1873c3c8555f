import { Alert, Button, Content, Progress, ProgressMeasureLocation } from '@patternfly/react-core';
import FileIcon from '@patternfly/react-icons/dist/esm/icons/file-icon';
import UploadIcon from '@patternfly/react-icons/dist/esm/icons/upload-icon';
import { type DragEvent, useState } from 'react';
import { useI18n } from '../../i18n/i18n.js';
import { Copyable } from '../../patterns/copyable.js';
import type { DigestAlgorithm } from './hash.worker.js';
import { type FileDigest, hexOf } from './use-file-digest.js';
import { useFileInput } from './use-file-input.js';

interface FileDropProps {
  readonly file: File | undefined;
  readonly onFile: (file: File) => void;
  readonly hashed: FileDigest;
  readonly algorithm: DigestAlgorithm;
}

function sizeOf(bytes: number, language: string): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
  const step = Math.min(units.length - 1, bytes === 0 ? 0 : Math.floor(Math.log10(bytes) / 3));
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: units[step] ?? 'byte',
    maximumFractionDigits: 1,
  }).format(bytes / 1000 ** step);
}

/** FileDrop accepts a file by drag and drop or selection, and shows the hashing progress and the digest. */
export function FileDrop({ file, onFile, hashed, algorithm }: FileDropProps) {
  const { t, language } = useI18n();
  const { field, open } = useFileInput(t('sign.choose'), onFile);
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const dropped = event.dataTransfer.files[0];
    if (dropped !== undefined) onFile(dropped);
  };
  return (
    <div
      className={isOver ? 'sw-drop sw-drop--over' : 'sw-drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {field}
      {file === undefined ? (
        <>
          <UploadIcon className="sw-drop__icon" />
          <Content component="p">{t('sign.drop')}</Content>
          <Button variant="secondary" onClick={open}>
            {t('sign.choose')}
          </Button>
          <Content component="small">{t('sign.stays')}</Content>
        </>
      ) : (
        <>
          <Content component="p">
            <FileIcon /> <strong>{file.name}</strong> <span className="sw-muted">{sizeOf(file.size, language)}</span>
          </Content>
          <Digest file={file} hashed={hashed} algorithm={algorithm} />
        </>
      )}
    </div>
  );
}

function Digest({ file, hashed, algorithm }: { file: File; hashed: FileDigest; algorithm: DigestAlgorithm }) {
  const { t } = useI18n();
  if (hashed.fault !== undefined) {
    return (
      <Alert component="h2" variant="danger" isInline title={t('sign.unreadable')}>
        {hashed.fault}
      </Alert>
    );
  }
  if (hashed.digest === undefined) {
    return (
      <Progress
        className="sw-drop__progress"
        aria-label={t('sign.hashing')}
        title={t('sign.hashing')}
        value={file.size === 0 ? 0 : Math.floor((hashed.read / file.size) * 100)}
        measureLocation={ProgressMeasureLocation.outside}
      />
    );
  }
  return (
    <Content component="p" data-digest={hashed.digest}>
      <span className="sw-muted">{algorithm.toUpperCase()}</span>{' '}
      <Copyable text={hexOf(hashed.digest)} name={t('sign.digest')} />
    </Content>
  );
}
