"use strict";
// The pages work without this script. It sends forms without a full reload, shows how far work is,
// copies a dropped file to the studio, and takes a point that is clicked. It stores nothing.
(() => {
  const tab = crypto.randomUUID();
  const byId = id => document.getElementById(id);
  let sending = null, copying = null, timer = 0, dirty = false;

  function gone(is) {
    document.body.classList.toggle("gone", is);  // nothing is running or coming then
    const told = byId("gone");
    if (told) told.hidden = !is;
  }

  // where a control stands, to find it in a page that came anew: by its name, or counted in a named part
  function place(control) {
    if (!control || control === document.body) return null;
    if (control.id) return () => byId(control.id);
    const part = control.closest("[id]");
    if (!part) return null;
    const reached = "a, button, input, select, summary, [tabindex]";
    const count = [...part.querySelectorAll(reached)].indexOf(control);
    return () => byId(part.id) && byId(part.id).querySelectorAll(reached)[count];
  }

  // what the reader opened, and where they are, stays as it was
  function keeping(change) {
    const opened = new Map([...document.querySelectorAll("details[id]")].map(d => [d.id, d.open]));
    const at = place(document.activeElement);
    const top = window.scrollY;
    const aside = [...document.querySelectorAll(".scroll[id], #live")].map(e => [e.id, e.scrollLeft, e.scrollTop]);
    change();
    for (const [id, left, down] of aside) if (byId(id)) Object.assign(byId(id), { scrollLeft: left, scrollTop: down });
    for (const [id, open] of opened) if (byId(id)) byId(id).open = open;
    const again = at && at();
    if (again && again !== document.activeElement) again.focus({ preventScroll: true });
    window.scrollTo({ top, behavior: "instant" });
  }

  // whether nothing but the live parts differs, so that what the reader is doing beside them stays
  function alike(page, heading) {
    const turn = from => (from.querySelector("input[name=turn]") || {}).value;
    const shut = from => [...from.querySelectorAll("main :disabled")]
      .filter(e => !e.closest("[data-live], #work")).length;
    const live = [...page.querySelectorAll("[data-live]")];
    return live.length && live.every(e => byId(e.id))
      && [turn, shut, heading].every(of => of(document) === of(page));
  }

  // what was filled in and not sent yet
  function unsent(sent) {
    return [...document.querySelectorAll("main form [id]:not([type=radio])")].filter(field => field.form !== sent
      && (field.checked !== field.defaultChecked
        || (field.defaultValue !== undefined && field.type !== "file" && field.value !== field.defaultValue)));
  }

  function show(text, whole, polled, sent) {
    const page = new DOMParser().parseFromString(text, "text/html");
    const heading = from => (from.querySelector("h1") || {}).textContent;
    // something may have been filled in since the page was asked for
    if (polled && (dirty || alike(page, heading))) whole = false;
    // a notice stays until the reader acts, and another window's is not for this one
    if (polled) page.getElementById("said").replaceWith(byId("said").cloneNode(true));
    const other = whole && heading(document) !== heading(page);
    const typed = whole && page.title === document.title ? unsent(sent) : [];
    keeping(() => {
      const parts = whole ? ["steps", "main", "bar"]
        : ["steps", "said", "work", "failed", "bar", ...[...document.querySelectorAll("[data-live]")].map(e => e.id)];
      for (const id of parts) {
        const old = byId(id), now = page.getElementById(id);
        if (old && now) old.replaceWith(document.adoptNode(now));
        else if (old && id === "failed") old.remove();
        else if (now && id === "failed") byId("work").after(document.adoptNode(now));
      }
    });
    if (whole) dirty = false;
    for (const old of typed) {
      const field = byId(old.id);
      if (!field || field.type !== old.type || field.defaultValue !== old.defaultValue) continue;
      if (old.type === "checkbox") field.checked = old.checked;
      else field.value = old.value;
      dirty = true;
    }
    document.title = page.title;
    document.body.dataset.version = page.body.dataset.version;
    if (other) {  // the page is about something else now, such as the release that was written
      window.scrollTo(0, 0);
      byId("main").focus({ preventScroll: true });
    }
    watch();
  }

  async function ask(url, options, whole, polled, sent) {
    let answer, text;
    try {
      answer = await fetch(url, options);
      text = await answer.text();
    } catch (error) {
      if (!options.signal || !options.signal.aborted) gone(true);
      return;
    }
    gone(false);
    const here = new URL(answer.url);
    if (options.signal && options.signal.aborted) return;
    if (answer.headers.get("content-type").startsWith("text/plain")) {  // the guard refuses
      byId("said").textContent = text;
    } else if (here.pathname !== location.pathname) {
      location.assign(here.pathname);
    } else {
      show(text, whole, polled, sent);
    }
  }

  function send(form, button) {
    if (sending) sending.abort();
    sending = new AbortController();
    const data = new URLSearchParams(new FormData(form));
    if (button && button.name) data.append(button.name, button.value);
    clearTimeout(timer);
    ask(form.getAttribute("action"), {
      method: "POST", body: data, headers: { "X-Tab": tab }, signal: sending.signal,
    }, true, false, form);
  }

  // work that is running, and what another window changed
  function watch() {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      let told;
      try {
        const answer = await fetch("/work");
        if (!answer.ok) return;
        told = await answer.json();
      } catch {
        gone(true);
        return watch();
      }
      gone(false);
      const changed = String(told.version) !== document.body.dataset.version;
      if (changed || told.running !== Boolean(byId("stop"))) {
        return ask(location.pathname, { headers: { "X-Poll": "1" } }, !dirty, true);  // what is being filled in stays
      }
      if (told.running) {
        byId("work-step").textContent = told.stopped ? "stopping" : told.step;
        const bar = byId("work-share");
        if (told.share === null) bar.removeAttribute("value");
        else bar.value = told.share;
      }
      watch();
    }, byId("stop") ? 350 : 2500);
  }

  function upload(file, column) {
    if (!file) return;
    const copied = share => {  // the page may come anew meanwhile
      for (const part of [byId("sent"), byId("cancel")]) if (part) part.hidden = share === null;
      if (byId("sent")) byId("sent").value = share || 0;
    };
    copied(0);
    if (copying) copying.abort();
    const request = copying = new XMLHttpRequest();  // fetch does not say how much was sent
    request.open("POST", column ? "/hierarchy" : "/upload");
    if (column) {
      request.setRequestHeader("X-Column", column);
      request.setRequestHeader("X-Tab", tab);
      request.setRequestHeader("X-Turn", byId("above").elements.turn.value);
    }
    request.setRequestHeader("X-Name", encodeURIComponent(file.name));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = event => copied(event.loaded / (event.total || 1));
    request.onerror = () => gone(true);
    request.onloadend = () => copied(null);
    request.onload = () => {
      let told = {};
      try { told = JSON.parse(request.responseText); } catch { /* the guard refuses in plain words */ }
      if (told.to) return ask(told.to, { headers: { "X-Tab": tab } }, true);
      const said = document.createElement("p");
      said.className = "alert";
      said.textContent = told.fault || request.responseText;
      byId("said").replaceChildren(said);
      if (byId("failed")) byId("failed").remove();  // it is about the file before
    };
    request.send(file);
  }

  document.addEventListener("submit", event => {
    const form = event.target;
    // a field may be called "method", and hide the form's own
    if (form.getAttribute("method") !== "post" || form.getAttribute("action") === "/quit") return;
    event.preventDefault();
    send(form, event.submitter);
  });
  document.addEventListener("input", event => {
    const field = event.target;
    const out = document.querySelector(`output[for="${CSS.escape(field.id)}"]`);
    if (out) out.textContent = field.step.includes(".") ? Number(field.value).toFixed(2) : field.value;
    if (field.closest("main form")) dirty = true;
  });
  document.addEventListener("change", event => {
    const field = event.target;
    if (field.type === "file") return upload(field.files[0], field.dataset.column);
    if (field.name === "method") byId("ways").open = false;  // the settings below come beside the rows
    if (field.id === "uncapped") byId("option-max_disclosure").disabled = field.checked;
    const form = field.closest("form[data-auto]");
    if (form) send(form);
  });
  document.addEventListener("click", event => {
    if (event.target.id === "cancel" && copying) copying.abort();
    const point = event.target.closest("[data-point]");
    const form = byId("take");
    if (!point || !form) return;
    form.elements.point.value = point.dataset.point;
    send(form);
  });
  // both sides of the sample show the same columns
  document.addEventListener("scroll", event => {
    const side = event.target;
    if (!side.closest || !side.closest(".sides")) return;
    for (const other of side.parentElement.children) {
      if (other.scrollLeft !== side.scrollLeft) other.scrollLeft = side.scrollLeft;
    }
  }, true);
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, event => {
      if (!byId("drop")) return;
      event.preventDefault();
      byId("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop") upload(event.dataTransfer.files[0]);
    });
  }
  watch();
})();
