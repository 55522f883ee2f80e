import { crc32, deflateRawSync } from 'node:zlib'

/** Packs files as a zip archive. */
export function zipOf(files: Readonly<Record<string, string | Buffer>>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content)
    const packed = deflateRawSync(bytes)
    const fixed = Buffer.alloc(26)
    fixed.writeUInt16LE(20, 0)
    fixed.writeUInt16LE(0x0800, 2)
    fixed.writeUInt16LE(8, 4)
    fixed.writeUInt32LE(crc32(bytes), 10)
    fixed.writeUInt32LE(packed.length, 14)
    fixed.writeUInt32LE(bytes.length, 18)
    fixed.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), fixed, Buffer.from(name), packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(at, 10)
    directory.push(
      Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000'), fixed, tail, Buffer.from(name)]),
    )
    parts.push(local)
    at += local.length
  }
  const index = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(directory.length, 4)
  end.writeUInt16LE(directory.length, 6)
  end.writeUInt32LE(index.length, 8)
  end.writeUInt32LE(at, 12)
  return Buffer.concat([...parts, index, Buffer.from('PK\u0005\u0006'), end])
}

/** Builds an OpenDocument spreadsheet from the XML of each sheet's rows. */
export function odsOf(
  sheets: Readonly<Record<string, string>>,
  { hidden = [] }: { readonly hidden?: readonly string[] } = {},
): Buffer {
  const styles =
    '<style:style style:name="shown" style:family="table"><style:table-properties table:display="true"/></style:style>' +
    '<style:style style:name="hidden" style:family="table"><style:table-properties table:display="false"/></style:style>' +
    '<number:date-style style:name="N1" xmlns:number="n"/><style:style style:name="day" style:family="table-cell" style:data-style-name="N1"/>'
  const tables = Object.entries(sheets).map(
    ([name, rows]) =>
      `<table:table table:name="${name}" table:style-name="${hidden.includes(name) ? 'hidden' : 'shown'}"><table:table-column table:number-columns-repeated="16384"/>${rows}<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>`,
  )
  return zipOf({
    mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
    'content.xml': `<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="o" xmlns:table="t" xmlns:style="s" xmlns:text="x"><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:spreadsheet>${tables.join('')}</office:spreadsheet></office:body></office:document-content>`,
  })
}

/** Builds an Excel workbook from the XML of each sheet's rows. */
export function xlsxOf(
  sheets: Readonly<Record<string, string>>,
  texts: readonly string[],
  { hidden = [], styles }: { readonly hidden?: readonly string[]; readonly styles?: string } = {},
): Buffer {
  const names = Object.keys(sheets)
  const relations = names.map(
    (_, index) => `<Relationship Id="r${index}" Target="worksheets/s${index}.xml"/>`,
  )
  const listed = names.map(
    (name, index) =>
      `<sheet name="${name}" sheetId="${index + 1}"${hidden.includes(name) ? ' state="hidden"' : ''} r:id="r${index}"/>`,
  )
  const items = texts.map((text) => `<si><t>${text}</t><rPh><t>x</t></rPh></si>`)
  return zipOf({
    '[Content_Types].xml': '<Types/>',
    'xl/_rels/workbook.xml.rels': `<Relationships>${relations.join('')}</Relationships>`,
    'xl/workbook.xml': `<workbook xmlns:r="r"><sheets>${listed.join('')}</sheets></workbook>`,
    ...(styles === undefined ? {} : { 'xl/styles.xml': styles }),
    'xl/sharedStrings.xml': `<sst>${items.join('')}</sst>`,
    ...Object.fromEntries(
      Object.values(sheets).map((rows, index) => [
        `xl/worksheets/s${index}.xml`,
        `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
      ]),
    ),
  })
}
