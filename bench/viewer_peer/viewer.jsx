// A page that fetches all events of an agent, folds them into rows, and shows a virtual list.

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";

/** Return the events of a stream, which is a file of JSON lines. */
async function fetchEvents(address) {
  const text = await (await fetch(address)).text();
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** Return a row for each turn, as Remora's page shows it. */
function foldRows(events) {
  const rows = [];
  for (const { turn, type, data } of events) {
    let row = rows.at(-1);
    if (row?.turn !== turn) {
      row = { turn, call: "", by: "", outcome: "", error: "", tokens: 0, ms: 0, results: [] };
      rows.push(row);
    }
    if (type === "agent_start") {
      row.call = "start";
    } else if (type === "model_request") {
      row.tokens = Math.max(row.tokens, data.prompt_tokens);
    } else if (type === "tool_call") {
      row.by = data.decided_by;
      row.call = `${data.tool}(${Object.entries(data.args).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")})`;
    } else if (type === "tool_result") {
      row.outcome = data.outcome;
      row.error = data.error ?? "";
      row.ms = data.duration_ms;
      row.results.push(data);
    }
  }
  return rows;
}

/** Return the turn at which the page opens: that of the last error, or else the first. */
function firstPlace(rows) {
  const failed = rows.findLastIndex((row) => row.error);
  return failed >= 0 ? failed : Math.min(1, rows.length - 1);
}

function Row({ row, start, isCurrent, onSelect }) {
  return (
    <div className="row" data-turn={row.turn} aria-current={isCurrent || undefined} style={{ transform: `translateY(${start}px)` }} onClick={onSelect}>
      <b>{row.turn}</b>
      <span className="call">
        {row.call} {row.error && <span className="error">{row.error}</span>}
      </span>
      <span>{row.by}</span>
      <span className={row.outcome}>{row.outcome}</span>
      <span>{row.tokens || ""}</span>
      <span>{row.ms || ""}</span>
    </div>
  );
}

function Detail({ row }) {
  return (
    <section id="detail">
      <h2>turn {row.turn}</h2>
      {row.results.map((result, number) => (
        <pre key={number}>{JSON.stringify(result.raw_output, null, 2)}</pre>
      ))}
    </section>
  );
}

function Agent({ rows }) {
  const list = useRef(null);
  const [place, setPlace] = useState(() => firstPlace(rows));
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => list.current,
    estimateSize: () => 48,
  });
  useLayoutEffect(() => virtual.scrollToIndex(place), []);
  return (
    <main>
      <div className="rows" ref={list}>
        <div style={{ position: "relative", height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => (
            <Row key={item.key} row={rows[item.index]} start={item.start} isCurrent={item.index === place} onSelect={() => setPlace(item.index)} />
          ))}
        </div>
      </div>
      <Detail row={rows[place]} />
    </main>
  );
}

function Page({ address }) {
  const [rows, setRows] = useState(null);
  useEffect(() => {
    fetchEvents(address).then((events) => setRows(foldRows(events)));
  }, [address]);
  return rows ? <Agent rows={rows} /> : <p>loading …</p>;
}

const address = new URLSearchParams(location.search).get("stream");
createRoot(document.getElementById("root")).render(<Page address={address} />);
